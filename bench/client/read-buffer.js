/**
 * Where what arrives is put, the same memory for all connections of a process: what is read is dealt with before the
 * next read, and Node would otherwise allocate 64 KB for each.
 */
export const READ_BUFFER = Buffer.alloc(2 ** 18)
