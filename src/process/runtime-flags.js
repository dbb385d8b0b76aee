/**
 * How Node is to run a gateway worker, chosen by measurement (docs/decisions/0040-runtime-flags.md): what a worker
 * holds lives long, so V8 would let the heap grow to a multiple of it before it looks what is garbage.
 */
export const GATEWAY_FLAGS = Object.freeze(['--max-semi-space-size=8', '--heap-growing-percent=100'])
