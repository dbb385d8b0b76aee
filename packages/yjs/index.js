/**
 * Yjs provider for inkcast.
 *
 * Reference: packages/yjs/README.md
 */
export {}
