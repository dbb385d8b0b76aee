/** The path at which clients of Socket.IO connect, `/realtime/`. */

export const DEFAULT_SOCKET_PATH = '/socket.io/'

/**
 * Paths of inkcast itself: at PORT (health, and the demo), at API_PORT and at ADMIN_PORT, because a proxy often has all
 * of them under one name.
 */
const FILES = [
  'health', 'icon.svg', 'index.html', 'settings.json', 'token', 'openapi.json', 'access', 'cordon', 'inspect', 'live', 'loglevel',
  'metrics', 'move', 'ready', 'status'
]
const FOLDERS = ['client', 'control', 'css', 'docs', 'documents', 'js', 'v1', 'vendor']

/** @param {string} text one that has no problem @returns {string} with a slash at both ends */
export const socketPathOf = (text) => `/${partsOf(text).join('/')}/`

/** @param {string} text @returns {string | undefined} what is wrong, with the remedy; undefined: nothing */
export function problemOfSocketPath (text) {
  const parts = partsOf(text)
  if (parts.length === 0) return 'must have a name, as /realtime/: inkcast serves other requests beside it'
  // clients, proxies and servers disagree about all other characters, and about dots and empty parts
  if (parts.some((part) => !/^[\w~-][\w.~-]*$/.test(part)))
    return 'must be a path of letters, digits, and - _ . ~, as /realtime/'
  const first = parts[0].toLowerCase()
  return FOLDERS.includes(first) || (parts.length === 1 && FILES.includes(first))
    ? `must not be at /${parts[0]}, where inkcast serves something else: choose another name, as /realtime/`
    : undefined
}

/** @param {string} text */
const partsOf = (text) => text.replace(/^\/|\/$/g, '').split('/').filter((part, i, all) => part !== '' || all.length > 1)
