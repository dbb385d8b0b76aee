import http from 'node:http'

/**
 * An HTTP request, in a turn of a process of a world.
 *
 * @param {http.RequestOptions & { body?: string | Buffer }} options
 * @returns {Promise<{ status: number, text: string }>}
 */
export const send = ({ body, ...options }) => new Promise((resolve, reject) => {
  const request = http.request(options, (answer) => {
    let text = ''
    answer.setEncoding('utf8')
    answer.on('data', (chunk) => { text += chunk })
    answer.on('error', reject)
    answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }))
  })
  request.on('error', reject)
  request.end(body)
})
