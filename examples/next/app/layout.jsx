export const metadata = { title: 'Shared list', icons: 'data:,' }

export default function Layout ({ children }) {
  return <html lang='en'><body>{children}</body></html>
}
