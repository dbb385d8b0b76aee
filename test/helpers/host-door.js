/**
 * Runs on a host of hosts.js, which has a network of its own: gives the test access through a unix socket, which is not
 * bound to a network. A connection's first line is its destination, as in "10.0.0.11:3000".
 *
 * node host-door.js <path of the socket>
 */
import net from 'node:net'

net.createServer((visitor) => {
  visitor.on('error', () => visitor.destroy())
  visitor.once('data', (first) => {
    visitor.pause()
    const end = first.indexOf('\n')
    const [host, port] = first.subarray(0, end).toString().split(':')
    const inside = net.connect(Number(port), host)
    inside.setNoDelay(true)
    inside.write(first.subarray(end + 1))
    visitor.pipe(inside).pipe(visitor)
    inside.on('error', () => visitor.destroy())
    visitor.on('close', (failed) => failed ? inside.destroy() : inside.end())
    inside.on('close', (failed) => failed ? visitor.destroy() : visitor.end())
  })
}).listen(process.argv[2])
