import { Button } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';

/** A link that looks like a button and downloads a file from the server. */
export const DownloadButton = ({ url, label }: { url: string; label: string }) => (
  <Button component="a" href={url} download variant="default" leftSection={<IconDownload size={15} aria-hidden />}>
    {label}
  </Button>
);
