"""One module or package a technology. Import the one you need: none imports another."""
