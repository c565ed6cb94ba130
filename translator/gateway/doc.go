// Package gateway is the family of gateways, routes and the policies inherited along
// them: how references among their documents are followed, the tables they come to, and
// the Rego and the generated tests written for those. The decoded documents stand in
// gateway/document, and questions about effective policies in
// gateway/effective. It must not know other families.
package gateway
