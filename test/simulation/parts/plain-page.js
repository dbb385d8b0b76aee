import { PlainLine } from './plain-line.js'
import { StockPage } from './stock-page.js'

/** A page as a stock page, over a plain WebSocket: it opens its documents with its first message. */
export class PlainPage extends StockPage {
  isPlain = true

  /**
   * @override
   * @param {(tell: (auth: object) => void) => void} auth
   * @param {{ isPacked: boolean }} way
   */
  openLine (auth, { isPacked }) { return /** @type {any} */ (new PlainLine(this.process, { isPacked, auth })) }
}
