import { List } from '../components/list.jsx'

/** App Router: a server component that renders one for the browser. */
export default function Page () {
  return <List guid='list' />
}
