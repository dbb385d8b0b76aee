import Head from 'next/head'
import { List } from '../components/list.jsx'

/** Pages Router, also with React 18. */
export default function Classic () {
  return (
    <>
      <Head><title>Shared list</title><link rel='icon' href='data:,' /></Head>
      <List guid='list' />
    </>
  )
}
