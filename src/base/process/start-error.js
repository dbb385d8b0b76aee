/**
 * One line with the cause and the remedy.
 * @param {any} error of a start
 * @returns {string}
 */
export function startError (error) {
  if (error?.code === 'EADDRINUSE')
    return `port ${error.port ?? error.address} is in use: stop what uses it, or set PORT, API_PORT or ADMIN_PORT to a free one`
  if (error?.code === 'EACCES' && error.port !== undefined)
    return `port ${error.port} may not be used by this user: choose one above 1023`
  if (error?.code === 'EADDRNOTAVAIL')
    return `address ${error.address} is not an address of this machine: check HOST, API_HOST and ADMIN_HOST`
  return error instanceof Error ? error.message : String(error)
}
