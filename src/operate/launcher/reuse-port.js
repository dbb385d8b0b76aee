import net from 'node:net'
import { getSystemErrorName } from 'node:util'

/**
 * The private parts of Node that slot sockets need: `net._createServerHandle` makes a handle that is bound and does not
 * listen, and takes libuv's flags; `getsockname` reports a taken port, which libuv delays until then.
 * Checked with Node 22.12 and 24.21. Without them workers share one socket.
 */
const createServerHandle = /** @type {any} */ (net)._createServerHandle

/** UV_TCP_REUSEPORT, since libuv 1.49 (Node 22.12): https://docs.libuv.org/en/v1.x/tcp.html#c.uv_tcp_bind */
const REUSE_PORT = 2

/**
 * @param {string} host an IP address
 * @param {number} port 0: any free one
 * @param {number} [flags]
 * @returns {any} native handle
 * @throws {Error} as of `server.listen`: code, address, port
 */
function bind (host, port, flags = 0) {
  const handle = createServerHandle(host, port, net.isIP(host), undefined, flags)
  const failed = typeof handle === 'number'
  const problem = failed ? handle : handle.getsockname({})
  if (problem === 0) return handle
  if (!failed) handle.close()
  const code = getSystemErrorName(problem)
  throw Object.assign(new Error(`bind ${code} ${host}:${port}`), { code, address: host, port })
}

/** @param {any} handle @returns {number} */
function portOf (handle) {
  const address = { port: 0 }
  handle.getsockname(address)
  return address.port
}

/**
 * Tried rather than asked: the version of Node says nothing about the system, and of old ones none complains.
 * @returns {boolean} whether the system spreads connections over several sockets at one port, and this Node can make
 *   them
 */
export function canReusePort () {
  const handles = []
  try {
    const first = bind('127.0.0.1', 0, REUSE_PORT)
    handles.push(first)
    first.listen(1)
    handles.push(bind('127.0.0.1', portOf(first), REUSE_PORT))
    return true
  } catch {
    return false
  } finally {
    for (const handle of handles) handle.close()
  }
}

/**
 * Sockets that are bound to the same port. A socket gets connections once a worker listens on it; the
 * system spreads new connections evenly over these.
 *
 * @param {string} host an IP address
 * @param {number} port
 * @param {number} count
 * @returns {any[]} native handles
 * @throws {Error} as `server.listen`, also if another process listens there and would share the port
 */
export function bindTogether (host, port, count) {
  // a socket without the flag shares its port with no other
  const alone = bind(host, port)
  const same = portOf(alone)
  alone.close()
  /** @type {any[]} */
  const handles = []
  try {
    while (handles.length < count) handles.push(bind(host, same, REUSE_PORT))
    return handles
  } catch (error) {
    for (const handle of handles) handle.close()
    throw error
  }
}
