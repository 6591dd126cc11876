// The check of a whole log, in a folder or where it is served, by the fsck of Tessera.
//
// `fsck KEY PLACE` derives the tree from the entries, and compares it with tiles and checkpoint.
// A damaged tile makes it wait for ever, so it has a time limit.
package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/transparency-dev/merkle/rfc6962"
	"github.com/transparency-dev/tessera/api"
	"github.com/transparency-dev/tessera/client"
	"github.com/transparency-dev/tessera/fsck"
	"golang.org/x/mod/sumdb/note"
)

const limit = 20 * time.Second

func main() {
	key, err := os.ReadFile(os.Args[1])
	exit(err)
	verifier, err := note.NewVerifier(strings.TrimSpace(string(key)))
	exit(err)
	fetcher, err := open(os.Args[2])
	exit(err)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		options := fsck.Opts{N: 1}
		done <- fsck.New(verifier.Name(), verifier, fetcher, hashBundle, options).Check(ctx)
	}()
	select {
	case err = <-done:
	case <-ctx.Done():
		err = ctx.Err()
	}
	exit(err)
	fmt.Println("whole")
}

func open(place string) (fsck.Fetcher, error) {
	if !strings.HasPrefix(place, "http://") {
		return client.FileFetcher{Root: place}, nil
	}
	address, err := url.Parse(place)
	if err != nil {
		return nil, err
	}
	return client.NewHTTPFetcher(address, nil)
}

// hashBundle returns the leaf hashes of the entries of a bundle.
func hashBundle(data []byte) ([][]byte, error) {
	bundle := &api.EntryBundle{}
	if err := bundle.UnmarshalText(data); err != nil {
		return nil, err
	}
	var hashes [][]byte
	for _, entry := range bundle.Entries {
		hashes = append(hashes, rfc6962.DefaultHasher.HashLeaf(entry))
	}
	return hashes, nil
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
