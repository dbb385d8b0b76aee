/** Between two attempts to join the group again, ms. */
const PAUSE = 300
const GROUP = 'editors'

/**
 * A service that reads the edits of pages from Kafka and publishes a record for each, as docs/outbox.md says: it keeps
 * the last number of each queue, and passes over what it has applied.
 */
export class Editor {
  /** @type {Map<string, number>} by queue */
  #applied = new Map()
  applied = 0

  /**
   * @param {import('../world/sim-process.js').SimProcess} process
   * @param {import('./broker.js').Broker} broker
   * @param {import('./service.js').Service} service that publishes
   * @param {string} topic
   */
  constructor (process, broker, service, topic) {
    this.process = process
    process.isClient = true
    this.service = service
    this.driver = broker.driver(process)
    process.enter('read the uplink', () => this.#read(topic))
  }

  /** @param {string} topic */
  async #read (topic) {
    for (;;) {
      /** @type {(value?: unknown) => void} */
      let failed = () => {}
      const failure = new Promise((resolve) => { failed = resolve })
      const subscription = this.driver.consume({ topic, groupId: GROUP }, {
        onJoined () {}, onRebalance () {}, onResponse () {}, onSkip () {},
        onFailure: () => failed(),
        handle: (delivery) => this.#apply(delivery, subscription)
      })
      await subscription.start().then(() => failure, () => {})
      await subscription.close()
      await this.process.clock.sleep(PAUSE)
    }
  }

  /**
   * @param {import('../../../src/kafka/contract.js').Delivery} delivery
   * @param {import('../../../src/kafka/contract.js').Subscription} subscription
   */
  async #apply ({ partition, messages, isCurrent, resolve }, subscription) {
    for (const { headers = {}, value, offset } of messages) {
      if (!isCurrent()) return
      if (text(headers['x-operator']) === 'message') await this.#publish(headers, String(value))
      resolve(offset)
    }
    const next = Number(messages[messages.length - 1].offset) + 1
    // refused after a rebalance: the edits come again, and are passed over
    await subscription.commit([{ partition, offset: next, metadata: '' }]).catch(() => {})
  }

  /** @param {import('../../../src/kafka/contract.js').Headers} headers @param {string} value */
  async #publish (headers, value) {
    const queue = text(headers['x-queue'])
    const number = Number(text(headers['x-seq']))
    const last = this.#applied.get(queue) ?? 0
    if (number <= last) return
    if (number > last + 1) this.process.world.violation(`the uplink has edit ${number} of a queue after ${last}`)
    this.#applied.set(queue, number)
    this.applied++
    await this.service.until(`/v1/documents/${text(headers['x-guid'])}/broadcast`, value, {
      'x-event': 'record', 'idempotency-key': `${queue}-${number}`
    })
  }
}

/** @param {import('../../../src/kafka/contract.js').Headers[string]} header */
const text = (header) => String(header ?? '')
