import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { currentWorld } from './now.js'
import { drawn } from './patched-random.js'

/** Random bytes that libraries draw in advance for all of a process of Node: in a world nothing is shared. */

const require = createRequire(import.meta.url)

// the masks of what a client sends
const { Sender } = /** @type {any} */ (require('ws'))
const { frame } = Sender
const generateMask = (/** @type {Buffer} */ mask) => drawn()?.fill(mask)
/** @param {any} data @param {any} options */
Sender.frame = (data, options) => {
  if (options.mask && currentWorld() !== undefined) options.generateMask ??= generateMask
  return frame(data, options)
}

// ioredis joins the nodes of each of 16,384 hash slots after each CLUSTER SLOTS: a tenth of a seed with shards
const { join: joined } = Array.prototype
Array.prototype.join = function (separator) {
  return this.length === 1 && typeof this[0] === 'string' ? this[0] : joined.call(this, separator)
}

for (const library of ['engine.io', 'socket.io']) {
  const { base64id } = require(join(dirname(require.resolve(library)), 'contrib/base64id.js'))
  const { generateId } = base64id
  base64id.generateId = () => drawn()?.bytes(15).toString('base64url') ?? generateId.call(base64id)
}

// Definitions of gRPC have no state: parsed once, their functions stay optimized from world to world
const loader = /** @type {any} */ (require('@grpc/proto-loader'))
const { loadSync } = loader
/** @type {Map<string, object>} */
const definitions = new Map()
/** @param {string} path @param {object} [options] */
loader.loadSync = (path, options) => {
  const key = JSON.stringify([path, options], (_, value) => typeof value === 'function' ? value.name : value)
  const before = definitions.get(key)
  if (before !== undefined) return before
  const definition = loadSync(path, options)
  definitions.set(key, definition)
  return definition
}
