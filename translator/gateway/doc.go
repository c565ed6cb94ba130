// Package gateway is the family of gateways, routes and the policies inherited along
// them: the Rego and the generated tests written for their tables. The decoded
// documents stand in gateway/document, and questions about effective policies in
// gateway/effective. It must not know other families.
package gateway
