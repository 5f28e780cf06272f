import { IconPlugConnectedX } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState, useSyncExternalStore } from 'react';
import { fetchFromServer } from '../api/call.ts';
import { connection } from '../api/connection.ts';
import styles from './lost-connection.module.css';

/** The time between two checks whether the server is back. */
const CHECK_INTERVAL_MS = 5_000;

/** A banner while the server is not responding. Checks periodically and on demand whether it is back, and then reloads stale data. */
export function LostConnection() {
  const isLost = useSyncExternalStore(connection.subscribe, connection.isLost);
  const queries = useQueryClient();
  const [isChecking, setIsChecking] = useState(false);
  const check = async () => {
    setIsChecking(true);
    try {
      await fetchFromServer('/readyz', { cache: 'no-store' });
    } catch {
      return; // The server is still down, so the banner stays.
    } finally {
      setIsChecking(false);
    }
    if (!connection.isLost()) await queries.refetchQueries({ type: 'active', stale: true });
  };
  useEffect(() => {
    // The next check waits for the end of this one, which can take long if the server hangs.
    if (!isLost || isChecking) return;
    const timer = setInterval(() => void check(), CHECK_INTERVAL_MS);
    return () => clearInterval(timer);
  });
  if (!isLost) return null;
  return (
    <div className={styles.banner} role="alert">
      <IconPlugConnectedX size={18} aria-hidden />
      <span>The server is not responding. This page may be out of date. Your input is kept.</span>
      <button type="button" onClick={() => void check()} disabled={isChecking}>
        {isChecking ? 'Retrying …' : 'Try again'}
      </button>
    </div>
  );
}
