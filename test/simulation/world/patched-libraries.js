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

for (const library of ['engine.io', 'socket.io']) {
  const { base64id } = require(join(dirname(require.resolve(library)), 'contrib/base64id.js'))
  const { generateId } = base64id
  base64id.generateId = () => drawn()?.bytes(15).toString('base64url') ?? generateId.call(base64id)
}
