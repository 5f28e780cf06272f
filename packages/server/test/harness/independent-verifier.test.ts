import { expect, test } from 'vitest';
import { runVerifier, verifierPid } from './independent-verifier.ts';

test('when the process of the verifier is killed, its run is rejected and the next run starts a new process', async () => {
  expect((await runVerifier(['--help'])).status).toBe(0);
  const pid = verifierPid()!;
  const interrupted = runVerifier(['--help']);
  process.kill(pid, 'SIGKILL');
  await expect(interrupted).rejects.toThrow('the process of the verifier ended with SIGKILL');
  expect(await runVerifier(['--help'])).toMatchObject({ status: 0, err: '' });
  expect(verifierPid()).not.toBe(pid);
});
