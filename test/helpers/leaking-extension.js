/**
 * An extension with a leak, to see that the test of the heap finds it: something of each connection is kept for good.
 */
class LeakedVisit {
  /** @param {string} id */
  constructor (id) {
    this.id = id
    this.at = new Date()
  }
}

/** @type {LeakedVisit[]} */
const visits = []

/** @type {import('../../src/gateway/extensions/extension.js').Extension} */
export default ({ io }) => {
  io.on('connection', (socket) => { visits.push(new LeakedVisit(socket.id)) })
}
