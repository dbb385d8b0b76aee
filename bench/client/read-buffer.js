/**
 * Read buffer shared by all connections of a process: each read is processed before the next one. Node would otherwise
 * allocate 64 KB for each.
 */
export const READ_BUFFER = Buffer.alloc(2 ** 18)
