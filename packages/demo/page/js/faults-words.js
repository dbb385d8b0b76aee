/** The sentences about a fault. */

/** @param {number} value @returns {string} 1,234 */
export const number = (value) => value.toLocaleString('en-US')

/** @param {number | undefined} ms @returns {string} */
const seconds = (ms) => `${((ms ?? 0) / 1000).toFixed(1)} s`

/** @param {number} count @param {string} one */
export const many = (count, one) => `${number(count)} ${one}${count === 1 ? '' : 's'}`

/**
 * @typedef {(fault: import('./faults-control.js').Fault) => string} Words
 * @param {string} store its name, `Redis` or `the store`
 * @returns {Record<string, { name: string, doing: Words, done: Words }>}
 */
export const faultWords = (store) => ({
  kill: {
    name: 'Kill a worker',
    doing: ({ worker, clients, back, readyMs }) =>
      `${worker?.name} (process ${worker?.pid}) was killed with ${many(worker?.connections ?? 0, 'client')}. ${
        readyMs === undefined ? 'Another one starts' : `Another one was ready after ${seconds(readyMs)}`
      }; ${number(back)} of ${many(clients, 'client')} connected.`,
    done: ({ worker, clients, ms, readyMs }) =>
      `${worker?.name} (process ${worker?.pid}) was killed with ${many(worker?.connections ?? 0, 'client')}. ${
        clients === 1 ? 'The only client was' : `All ${number(clients)} clients were`
      } connected again after ${seconds(ms)}, and a new worker was ready after ${seconds(readyMs)}.`
  },
  reload: {
    name: 'Roll a deploy',
    doing: ({ clients, back }) =>
      `Each process is replaced by a new one, one after the other, and its clients move. ${number(back)} of ${many(clients, 'client')} ` +
      'connected to new workers.',
    done: ({ ms }) => `Every process was replaced in ${seconds(ms)}.`
  },
  freeze: {
    name: `Freeze ${store}`,
    doing: () => `CLIENT PAUSE: ${store} answers no command for 3 s.`,
    done: ({ ms }) => `${store[0].toUpperCase()}${store.slice(1)} was frozen and answered again after ${seconds(ms)}.`
  },
  cut: {
    name: 'Cut pub/sub',
    doing: () => 'CLIENT KILL TYPE pubsub: the workers lose the connections that bring them records.',
    done: () => 'The workers lost the connections that bring them records, and read what they missed from the log.'
  }
})
