const [major, minor] = process.versions.node.split('.').map(Number)

/**
 * Why slot sockets are not tested here, or false. Decided by version, so that a cluster that fails to detect the
 * feature of its Node is noticed.
 */
export const noSlotSockets = process.platform !== 'linux' || major < 22 || (major === 22 && minor < 12)
  ? 'workers share one socket here: needs Node.js 22.12 on Linux'
  : false
