'use client'
/**
 * React hooks for inkcast.
 *
 * Reference: packages/react/README.md
 */
export {}
