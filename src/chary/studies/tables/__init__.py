"""Real tables in; how the labels of ``chary label`` and its report fare on them, beside scikit-learn's, out."""
