import { SocketIoConnection } from './socketio-connection.js'

/**
 * Connection of a client that is in namespaces of extensions only. The limits and the ways to end are those of other
 * connections; it opens no documents and gets no records.
 */
export class NamespaceConnection extends SocketIoConnection {
  /** Records are events of the main namespace. @override */
  deliver () {}
}
