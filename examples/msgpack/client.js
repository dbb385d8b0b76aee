/**
 * A client that uses msgpack: fewer bytes, and binary without conversion. JSON clients of the same document receive
 * binary as attachments.
 *
 *   npm install inkcast socket.io-client socket.io-msgpack-parser
 *   node examples/msgpack/client.js [URL of the gateway]
 */
import parser from 'socket.io-msgpack-parser'
import { connect } from 'inkcast/client'

const [url = 'http://localhost:3000'] = process.argv.slice(2)
const client = connect(url, { parser })
const doc = await client.open('drawing', { echo: true })

/** @type {Promise<void>} */
const drawn = new Promise((resolve) => {
  doc.on('stroke', ({ color, points }) => {
    // an ArrayBuffer in browsers, a Buffer in Node
    console.log(color, new Float32Array(new Uint8Array(points).buffer))
    resolve()
  })
})
// an ArrayBuffer: the parser for browsers treats a typed array as an object
await doc.send({ color: 'red', points: new Float32Array([0.5, 1.5, 2.25]).buffer }, { event: 'stroke' })
// the stroke may arrive before the answer, or after it
await drawn
client.close()
