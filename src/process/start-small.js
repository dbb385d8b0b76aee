import v8 from 'node:v8'
import { isMainThread } from 'node:worker_threads'

/**
 * To be loaded before the modules of a process (`--import`): keeps its young generation small until `letGrow`. It
 * cannot be a flag on the command line, where V8 takes anything below 2 for 2.
 *
 * Why and figures: docs/decisions/0134-rest.md
 */

// threads inherit the command line, and the flag is one of the whole process
if (isMainThread) v8.setFlagsFromString('--semi-space-growth-factor=1')
