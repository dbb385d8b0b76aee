import { byId, h } from './dom.js'

/**
 * How to open the page on a phone. A phone cannot reach a page on 127.0.0.1: the gateway must listen on an address of
 * the network.
 *
 * @param {{ phoneUrls: string[] }} settings addresses under which phones reach the gateway, as far as it knows
 */
export function createPhone ({ phoneUrls }) {
  const { hostname, origin, pathname, search } = location
  const urls = isLoopback(hostname) ? phoneUrls : [origin]
  const links = urls.map((url) => {
    const address = `${url}${pathname}${search}`
    return h('li', {}, h('a', { href: address }, address))
  })
  byId('phone').replaceChildren(...(urls.length > 0
    ? [h('p', {}, 'On a phone in the same network, open:'), h('ul', {}, ...links)]
    : [
        h('p', {}, `A phone cannot reach ${hostname}: the gateway listens on this machine only. Start it for the network with`),
        h('pre', { tabIndex: 0 }, h('code', {}, 'HOST=0.0.0.0 npm start')),
        h('p', {}, 'and reload this page: it then shows the address for the phone.')
      ]))
}

/** @param {string} hostname */
const isLoopback = (hostname) => /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
