import { Connection } from './connection.js'

/**
 * Connection of a client that is in namespaces of extensions only. It has the same limits as others, and ends in the
 * same ways; it opens no documents and gets no records.
 */
export class NamespaceConnection extends Connection {
  /** Records are events of the main namespace. @override */
  deliver () {}
}
