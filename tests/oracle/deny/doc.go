// Package deny evaluates deny policies and pod security. Its tests are those of
// package access, whose decisions it takes part in.
package deny
