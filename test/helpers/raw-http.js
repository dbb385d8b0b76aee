import { connect } from 'node:net'

/**
 * Writes bytes to a server and collects the response until the server closes the connection.
 *
 * @param {string} url
 * @param {...(string | Buffer | Promise<unknown>)} parts written in order; a promise is awaited
 * @returns {Promise<string>}
 */
export async function rawHttp (url, ...parts) {
  const { port, hostname } = new URL(url)
  const socket = connect(Number(port), hostname)
  let answer = ''
  socket.setEncoding('utf8').on('data', (chunk) => { answer += chunk }).on('error', () => {})
  const closed = new Promise((resolve) => socket.once('close', resolve))
  for (const part of parts) {
    if (part instanceof Promise) await part
    else socket.write(part)
  }
  await closed
  return answer
}
