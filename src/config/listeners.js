import { problemOfSocketPath } from './socket-path.js'

/**
 * Doors besides Socket.IO's: `ws:/path` is a plain WebSocket (docs/websocket.md) at HOST and PORT.
 *
 * @typedef {{ protocol: 'ws', path: string }} Listener
 */

/** @param {string} entry @returns {string | undefined} what is wrong; undefined: nothing */
export function problemOfListener (entry) {
  const [, path] = /^ws:(\/[^/].*)$/.exec(entry) ?? []
  return path === undefined
    ? 'must have the form ws:/path, as ws:/websocket/handshake'
    : problemOfSocketPath(path)
}

/** @param {string} entry without a problem @returns {Listener} */
export const listenerOf = (entry) => ({ protocol: 'ws', path: entry.slice('ws:'.length).replace(/\/$/, '') })
