import sirv from 'sirv'

/**
 * The files of a folder. sirv leaves a file open whose reader goes away before its end: each such request would take a
 * descriptor for ever, and needs no token. So the file is closed with its answer. A file that cannot be opened (it was
 * removed, or descriptors are used up) would end the process, and a range that ends before its begin would leave the
 * request without an end: both end the connection.
 *
 * The folder is read at the first request: most processes get none.
 *
 * @param {string} folder
 * @param {import('sirv').Options} options
 * @returns {import('sirv').RequestHandler}
 */
export function createStaticFiles (folder, options) {
  /** @type {import('sirv').RequestHandler | undefined} */
  let files
  return (req, res, next) => {
    res.once('pipe', (file) => {
      const close = () => { file.destroy() }
      file.once('error', () => { res.destroy() })
      if (res.destroyed) close()
      else res.once('close', close)
    })
    try {
      files ??= sirv(folder, options)
      files(req, res, next)
    } catch {
      res.destroy()
    }
  }
}
