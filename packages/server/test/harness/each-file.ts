import { afterAll } from 'vitest';
import { runCleanups } from './after-file.ts';

// vitest runs this module for every test file.
afterAll(runCleanups);
