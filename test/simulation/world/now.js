/**
 * The world in which the current turn runs. Node has one of each timer, clock and socket; while a world runs, what
 * Node's own functions do (patched-time.js, patched-net.js) is up to it.
 *
 * @typedef {import('./world.js').World} World
 */

/** @type {World | undefined} */
let current

/** @returns {World | undefined} undefined: Node's own time and sockets */
export const currentWorld = () => current

/** @param {World | undefined} world */
export function enterWorld (world) { current = world }
