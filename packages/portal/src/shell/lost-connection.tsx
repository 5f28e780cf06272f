import { IconPlugConnectedX } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState, useSyncExternalStore } from 'react';
import { fetchFromServer } from '../api/call.ts';
import { connection } from '../api/connection.ts';
import styles from './lost-connection.module.css';

/** How often the server is asked whether it is back, while it is away. */
const ASK_EVERY_MS = 5_000;

/** Says that the server does not answer, asks by itself and on demand, and loads again what was missed once it is back. */
export function LostConnection() {
  const lost = useSyncExternalStore(connection.subscribe, connection.isLost);
  const queries = useQueryClient();
  const [asking, setAsking] = useState(false);
  const ask = async () => {
    setAsking(true);
    try {
      await fetchFromServer('/readyz', { cache: 'no-store' });
    } catch {
      return; // still away: the banner stays
    } finally {
      setAsking(false);
    }
    if (!connection.isLost()) await queries.refetchQueries({ type: 'active', stale: true });
  };
  useEffect(() => {
    if (!lost) return;
    const timer = setInterval(() => void ask(), ASK_EVERY_MS);
    return () => clearInterval(timer);
  });
  if (!lost) return null;
  return (
    <div className={styles.banner} role="alert">
      <IconPlugConnectedX size={18} aria-hidden />
      <span>The server does not answer. What you see may be old; nothing you typed is lost.</span>
      <button type="button" onClick={() => void ask()} disabled={asking}>
        {asking ? 'Trying …' : 'Try again'}
      </button>
    </div>
  );
}
