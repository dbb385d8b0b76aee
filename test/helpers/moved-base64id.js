/**
 * For `node --import`: simulates a version of Socket.IO that moved `contrib/base64id.js`, so that only its own files
 * find it.
 */
import Module from 'node:module'

const internals = /** @type {any} */ (Module)
const resolve = internals._resolveFilename
internals._resolveFilename = (/** @type {[string, any, ...any[]]} */ ...args) => {
  const [request, parent] = args
  if (/base64id/.test(request) && !parent?.loaded && internals._cache[parent?.filename] !== parent)
    throw Object.assign(new Error(`Cannot find module '${request}'`), { code: 'MODULE_NOT_FOUND' })
  return resolve(...args)
}
