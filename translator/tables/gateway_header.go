package tables

import (
	"slices"
	"strings"
)

// reservedHeaders change the framing or the routing of a message, in lower case.
var reservedHeaders = []string{
	"host", "content-length", "transfer-encoding", "connection", "keep-alive",
	"proxy-connection", "te", "trailer", "upgrade",
}

// IsReservedHeader reports whether a header, in any case, changes the framing or the
// routing of a message, so that no policy may set it. Pseudo-headers of HTTP/2, such as
// ":path", do.
func IsReservedHeader(name string) bool {
	return strings.HasPrefix(name, ":") || slices.Contains(reservedHeaders, strings.ToLower(name))
}
