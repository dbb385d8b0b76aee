/**
 * The doors of a worker besides Socket.IO's: one for each entry of LISTENERS. Their classes are loaded only for
 * protocols that the setting names.
 *
 * @typedef {import('./door-contract.js').OtherDoor} OtherDoor
 * @typedef {import('../config/listeners.js').Listener} Listener
 */

/** By protocol. */
const CLASSES = {
  ws: async () => (await import('./plain/plain-door.js')).PlainDoor,
  mqtt: async () => (await import('./mqtt/mqtt-door.js')).MqttDoor
}

/**
 * @typedef {keyof typeof CLASSES} Protocol
 * @typedef {Map<string, Awaited<ReturnType<typeof CLASSES[Protocol]>>>} DoorClasses by protocol
 */

/** @param {readonly Listener[]} listeners @returns {Promise<DoorClasses>} */
export async function loadDoors (listeners) {
  /** @type {DoorClasses} */
  const classes = new Map()
  for (const { protocol } of listeners)
    if (protocol in CLASSES) classes.set(protocol, await CLASSES[/** @type {Protocol} */ (protocol)]())
  return classes
}

/**
 * @param {readonly Listener[]} listeners
 * @param {DoorClasses} classes
 * @param {import('./handlers/context.js').HandlerContext} context
 * @param {import('./door-contract.js').DoorParts} parts
 * @returns {OtherDoor[]}
 */
export const openDoors = (listeners, classes, context, parts) => listeners.flatMap((listener) => {
  const DoorClass = classes.get(listener.protocol)
  return DoorClass === undefined ? [] : [new DoorClass(context, listener, parts)]
})
