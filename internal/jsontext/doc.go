// Package jsontext reads JSON text strictly and without building a tree. Bytes
// come in; out come the first mistake with its byte offset, values cut out of the
// text, or its tokens. It knows nothing of requests, documents of policies or positions in
// lines.
//
// # Design
//
// Check reads the text once; Value and Tokens then rely on that check and have no
// errors of their own. A Document keeps where each value begins and ends, 16 bytes a value
// and key, so that what is made of it does not read the text again. encoding/json is not used: it accepts repeated keys,
// replaces lone surrogates and invalid UTF-8, and allocates for each value.
package jsontext
