/**
 * Node's flags for a gateway worker, chosen by measurement (docs/internals/decisions/0040-memory.md): the memory of a
 * worker lives long, so by default V8 would let the heap grow to a multiple of it before it collects garbage.
 */
export const GATEWAY_FLAGS = Object.freeze(['--max-semi-space-size=8', '--heap-growing-percent=100'])

/**
 * Environment of all processes: glibc gives each thread that allocates a part of the memory for itself, and a process
 * of Node.js has ten threads but only one that allocates much (docs/internals/decisions/0040-memory.md).
 */
export const MEMORY_ENV = Object.freeze({ MALLOC_ARENA_MAX: '1' })
