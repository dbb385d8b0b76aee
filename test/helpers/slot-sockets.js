const [major, minor] = process.versions.node.split('.').map(Number)

/**
 * Why tests of slot sockets are skipped here, or false. Asked by version, so that a cluster that does not see what its
 * Node can do is noticed.
 */
export const noSlotSockets = process.platform !== 'linux' || major < 22 || (major === 22 && minor < 12)
  ? 'workers share one socket here: needs Node.js 22.12 on Linux'
  : false
