/** For `node --import`: the installed ws seems to have another version. */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

const { readFileSync } = fs

fs.readFileSync = /** @type {any} */ ((/** @type {any} */ file, /** @type {any} */ ...args) => {
  const text = /** @type {any} */ (readFileSync)(file, ...args)
  return typeof text === 'string' && /node_modules.ws.package\.json$/.test(String(file))
    ? text.replace(/"version": ".*?"/, '"version": "99.0.0"')
    : text
})
syncBuiltinESMExports()
