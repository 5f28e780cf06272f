import { Button } from '@mantine/core';
import { useLayoutEffect, useRef } from 'react';

/**
 * The button "Try again" of a notice. A retry that succeeds removes the notice with the button. If the button has the focus, the focus
 * moves to the page, so that keyboards and screen readers continue there.
 */
export function RetryButton({ retry }: { retry: () => void }) {
  const ref = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    const button = ref.current;
    return () => {
      if (document.activeElement === button) document.getElementById('page')?.focus({ preventScroll: true });
    };
  }, []);
  return (
    <Button ref={ref} variant="default" size="xs" onClick={retry}>
      Try again
    </Button>
  );
}
