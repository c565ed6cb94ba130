package document

// regoBody checks the body of a module, nil where it has mistakes. They are told
// at the key, the place within the text in the message.
func (d *decoder) regoBody(key, n *node) *RegoBody {
	return &RegoBody{At: d.at(key), Source: n.value}
}
